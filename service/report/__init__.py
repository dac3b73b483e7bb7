"""Pages for the library, the command line and the pipeline alike: pictures, tables, number formats, and their folder."""
