import { refusesTheFaultsOfAHost } from '../../upstream/http-faults.ts'

refusesTheFaultsOfAHost({ backend: 'system', flips: 24, harmless: 16 })
