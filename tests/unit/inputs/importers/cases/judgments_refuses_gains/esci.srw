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
    },
    {
     "docId": "B2",
     "rating": "1.000"
    },
    {
     "docId": "B3",
     "rating": "10.000"
    },
    {
     "docId": "B4",
     "rating": "100.000"
    }
   ]
  }
 ]
}