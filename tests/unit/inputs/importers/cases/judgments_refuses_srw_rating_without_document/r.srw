{
 "name": "n",
 "type": "IMPORT_JUDGMENT",
 "judgmentRatings": [
  {
   "query": "q",
   "ratings": [
    {
     "doc": "a",
     "rating": "1"
    }
   ]
  }
 ]
}