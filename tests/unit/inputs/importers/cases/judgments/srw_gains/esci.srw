{
 "name": "n",
 "type": "IMPORT_JUDGMENT",
 "judgmentRatings": [
  {
   "query": "a b",
   "ratings": [
    {
     "docId": "B1",
     "rating": "0.000"
    },
    {
     "docId": "B2",
     "rating": "10.000"
    },
    {
     "docId": "B3",
     "rating": "100.000"
    }
   ]
  },
  {
   "query": "c",
   "ratings": [
    {
     "docId": "B1",
     "rating": "1.000"
    },
    {
     "docId": "B1",
     "rating": "1.000"
    },
    {
     "docId": 7,
     "rating": null
    }
   ]
  },
  {
   "query": "d",
   "ratings": []
  }
 ]
}