/* The tables of what threads remember. */
#include "base/recall.h"

_Thread_local pw_recall pw_recalls[PW_RECALL_TABLES][1 << PW_RECALL_BITS];
