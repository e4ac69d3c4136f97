/**
 * Environment of a service process. glibc learns from freed buffers to keep up to 32 MB of each size in its arenas; a fixed
 * threshold returns them to the system: the embedded service idles at 290 MB instead of 405 after its first start.
 * https://man7.org/linux/man-pages/man3/mallopt.3.html, M_MMAP_THRESHOLD; `npm start` sets the same
 */
export const SERVICE_ENV = { MALLOC_MMAP_THRESHOLD_: '131072' }
