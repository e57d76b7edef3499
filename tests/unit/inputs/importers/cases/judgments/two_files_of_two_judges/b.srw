{
 "name": "n",
 "type": "IMPORT_JUDGMENT",
 "judgmentRatings": [
  {
   "query": "q",
   "ratings": [
    {
     "docId": "a",
     "rating": "2"
    }
   ]
  }
 ]
}