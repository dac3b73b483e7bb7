export * from "fzstd";
