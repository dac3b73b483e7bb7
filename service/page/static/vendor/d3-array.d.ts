export * from "d3-array";
