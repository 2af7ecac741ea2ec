import { CHANNEL_SCENES } from './channel-scenes.ts'
import { keepsOldOrNew } from './crash-kills.ts'

keepsOldOrNew(CHANNEL_SCENES)
