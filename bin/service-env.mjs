/**
 * Environment of a service process. glibc learns from freed buffers to keep up to 32 MB of each size in its arenas; a fixed
 * threshold returns them to the system: the embedded service idles at 290 MB instead of 405 after its first start.
 * https://man7.org/linux/man-pages/man3/mallopt.3.html, M_MMAP_THRESHOLD
 *
 * Node 26 lets the young generation grow to 3 × 32 MB and keeps it until a full collection, which an idle service runs after
 * two minutes or never: 253 MB with the limit of Node 20, 290 to 350 without.
 *
 * `npm start`, the systemd units and the container set the same.
 */
export const SERVICE_ENV = { MALLOC_MMAP_THRESHOLD_: '131072', NODE_OPTIONS: '--max-semi-space-size=16' }
