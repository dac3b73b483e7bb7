export * from "@uwdata/flechette";
