"""What pages consist of, for the library, the command line and the pipeline alike: pictures, tables, number formats."""
