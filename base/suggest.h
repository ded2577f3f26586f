/* "Did you mean …?": the closest of a list of words, by edit distance. */
#ifndef PW_BASE_SUGGEST_H
#define PW_BASE_SUGGEST_H

/* The candidate closest to `word`, or NULL when none is close. Ends at the first NULL candidate. */
const char *pw_suggest(const char *word, const char *const *candidates);

#endif
