import { keepsOldOrNew } from './crash-kills.ts'
import { PUBLISH } from './crash-scenes.ts'

keepsOldOrNew([PUBLISH])
