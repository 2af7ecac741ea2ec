import { GitServer } from '../test/support/git-server.ts'
import { Repository } from '../test/support/repository.ts'

// The git server of a measurement, apart from both that are measured. Started with the folder of a repository; tells its
// address, and ends when the one who started it goes.

const [folder = ''] = process.argv.slice(2)
const server = await GitServer.start()
// The folder holds the repository already: making it again leaves it as it is.
process.send?.(server.serve('skills', await Repository.create({ folder })))
process.once('disconnect', () => void server[Symbol.asyncDispose]())
