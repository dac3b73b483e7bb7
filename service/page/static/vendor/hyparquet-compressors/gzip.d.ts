export { gunzip } from "hyparquet-compressors";
