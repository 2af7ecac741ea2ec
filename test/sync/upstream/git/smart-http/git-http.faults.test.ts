import { refusesTheFaultsOfAHost } from '../../http-faults.ts'

refusesTheFaultsOfAHost({ backend: 'embedded', flips: 60, harmless: 20 })
