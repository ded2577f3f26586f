/* "Did you mean …?": the closest of a list of words, by edit distance. */
#ifndef PW_BASE_SUGGEST_H
#define PW_BASE_SUGGEST_H

/* The one of `candidates`, which ends with a NULL, that is closest to `word`; NULL when none is close. Thread safe. */
const char *pw_suggest(const char *word, const char *const *candidates);

#endif
