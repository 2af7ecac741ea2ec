import './run-the-build.ts'
import { answerParent } from './child.ts'

// The whole program in a process that can be asked what its memory holds. Started with its arguments.

answerParent({})
// The program ends when it is done, not when nobody listens to it any more.
process.channel?.unref()
await import('../src/daemon/main.ts')
