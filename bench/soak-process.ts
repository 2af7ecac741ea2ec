import { HURRY } from './soak-daemon.ts'

// The whole program as in program-process.ts. What it goes by where it asks how long ago something was runs fast, so that what
// may be forgotten after an hour is forgotten in half a minute; its timers do not.

const nowMs = performance.now.bind(performance)
performance.now = () => HURRY * nowMs()
await import('./program-process.ts')
