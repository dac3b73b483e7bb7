"""TLS and SASL, by the properties of Kafka's own clients."""
