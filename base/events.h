/*
 * What becomes of the processes of a run: each leaves lines in the file PACKWRIGHT_RUN, "event program". `packwright
 * run` and `packwright compare` name the file and read it at the end, to say why no rank has reported.
 */
#ifndef PW_BASE_EVENTS_H
#define PW_BASE_EVENTS_H

#define PW_EVENTS(X)                                                                              \
    X(LOADED, "loaded")     /* a process has the interposer */                                    \
    X(OFF, "off")           /* it is off there, by a variable or for a reason that it has told */ \
    X(STARTED, "started")   /* a call of MPI has come to it */                                    \
    X(ABORTED, "aborted")   /* MPI_Abort was called */                                            \
    X(REPORTED, "reported") /* statistics or a report were written */

typedef enum pw_event {
#define X(symbol, word) PW_EVENT_##symbol,
    PW_EVENTS(X)
#undef X
        PW_EVENT_COUNT
} pw_event;

enum { PW_EVENT_LINE = 300 }; /* room for a line */

const char *pw_event_word(pw_event event);

/* Leaves a line, if the variable is set. Thread safe, and safe at load. */
void pw_event_leave(pw_event event);

#endif
