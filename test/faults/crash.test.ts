import { keepsOldOrNew } from './crash-kills.ts'
import { OTHER_SCENES } from './crash-scenes.ts'

keepsOldOrNew(OTHER_SCENES)
