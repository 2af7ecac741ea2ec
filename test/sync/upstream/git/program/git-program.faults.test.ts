import { refusesTheFaultsOfAHost } from '../../http-faults.ts'

refusesTheFaultsOfAHost({ backend: 'system', flips: 24, harmless: 16 })
