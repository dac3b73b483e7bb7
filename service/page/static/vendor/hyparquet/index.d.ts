export * from "hyparquet";
