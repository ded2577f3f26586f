/* "Did you mean …?": the closest of a list of words, by edit distance. */
#ifndef PW_BASE_SUGGEST_H
#define PW_BASE_SUGGEST_H

/* The one of `candidates`, which ends with a NULL, that is closest to `word`; NULL when none is close. Thread safe. */
const char *pw_suggest(const char *word, const char *const *candidates);

/* How many letters have to change to make `word` this candidate, whatever their case; -1 when the two are not close. */
int pw_suggest_distance(const char *word, const char *candidate);

#endif
