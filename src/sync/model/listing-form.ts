/**
 * The methods or the document by which an MCP server listed its skills, newest first. `uris`: only the skills that we
 * requested by URI.
 */
export type ListingForm = 'skills/list' | 'index' | 'fastmcp' | 'uris' | 'none'
