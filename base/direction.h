/* The two directions in which bytes move between objects in memory and their packed form. */
#ifndef PW_BASE_DIRECTION_H
#define PW_BASE_DIRECTION_H

typedef enum pw_direction { PW_PACK, PW_UNPACK } pw_direction;

enum { PW_DIRECTIONS = 2 };

#endif
