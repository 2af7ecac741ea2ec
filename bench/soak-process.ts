import './run-the-build.ts'
import { answerParent } from './child.ts'
import { HURRY } from './soak-daemon.ts'

// The whole program in a process that can be asked what its heap holds. Started with its arguments. What it goes by where it
// asks how long ago something was runs fast, so that what may be forgotten after an hour is forgotten in half a minute; its
// timers do not.

const nowMs = performance.now.bind(performance)
performance.now = () => HURRY * nowMs()
answerParent({})
// The program ends when it is done, not when nobody listens to it any more.
process.channel?.unref()
await import('../src/daemon/main.ts')
