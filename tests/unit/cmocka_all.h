/* cmocka wants these four before it; including this file instead keeps the order right. */
#ifndef ABIDE_TESTS_CMOCKA_ALL_H
#define ABIDE_TESTS_CMOCKA_ALL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
