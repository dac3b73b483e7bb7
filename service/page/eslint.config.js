import js from "@eslint/js";
import globals from "globals";

export default [
  { ignores: ["**/static/vendor"] },
  js.configs.recommended,
  {
    files: ["**/static/**/*.js"],
    languageOptions: { globals: globals.browser },
    rules: {
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-new-func": "error",
      "no-restricted-syntax": ["error", "Literal[value='dangerouslySetInnerHTML']"],
      "max-lines": ["error", 300],
      "no-unused-vars": ["error", { varsIgnorePattern: "^_", argsIgnorePattern: "^_" }],
      eqeqeq: ["error", "always"],
      "prefer-const": "error",
    },
  },
];
