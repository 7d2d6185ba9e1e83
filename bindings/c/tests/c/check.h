/* The common part of the tests in C: a check that every build has, and that prints the values found. */

#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                    \
    do {                                                                                    \
        if (!(condition)) {                                                                 \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);         \
            fprintf(stderr, "last message: %s\n", sdx_error_message());                     \
            exit(1);                                                                        \
        }                                                                                   \
    } while (0)

#define OK(call) STATUS(SDX_OK, call)

#define STATUS(expected, call)                                                              \
    do {                                                                                    \
        int status_found = (call);                                                                 \
        if (status_found != (int) (expected)) {                                                    \
            fprintf(stderr, "%s:%d: %s is %s and not %s: %s\n", __FILE__, __LINE__, #call,  \
                    sdx_status_name(status_found), sdx_status_name((int) (expected)),              \
                    sdx_error_message());                                                   \
            exit(1);                                                                        \
        }                                                                                   \
    } while (0)

#endif
