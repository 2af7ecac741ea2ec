import { refusesTheFaultsOfAHost } from '../../upstream/http-faults.ts'

refusesTheFaultsOfAHost({ backend: 'embedded', flips: 60, harmless: 20 })
