/* Holds a mutex to the end of a block: SCOPED(unlock) pthread_mutex_t *held = lock(&x->lock). */
#pragma once

#include <pthread.h>

#include "common/buf.h"

static inline pthread_mutex_t *lock(pthread_mutex_t *m)
{
	pthread_mutex_lock(m);
	return m;
}

static inline void unlock(pthread_mutex_t **m)
{
	pthread_mutex_unlock(*m);
}
