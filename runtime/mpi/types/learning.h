/*
 * Learning a type: reading how it was made, compiling its layout, and binding the type to the layout's entry by an
 * attribute. One type is learned at a time. pw_registry_engine, _let_go, _leave and _close are defined here, too.
 */
#ifndef PW_RUNTIME_LEARNING_H
#define PW_RUNTIME_LEARNING_H

#include "runtime/mpi/types/entries.h"

/* Learns a committed or predefined type, unless it is learned already. It is then in pw_registry_types, unless learning
 * has failed. */
void pw_learning_learn(MPI_Datatype type);

/* Learns a predefined type, and returns its entry. NULL: it has none, or this is no predefined type. */
pw_entry *pw_learning_predefined(MPI_Datatype type);

#endif
