{
 "name": "n",
 "type": "IMPORT_JUDGMENT",
 "judgmentRatings": [
  {
   "query": "a",
   "ratings": [
    {
     "docId": "B1",
     "rating": "0.000"
    }
   ]