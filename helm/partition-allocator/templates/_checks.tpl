{{/* What a schema cannot express: values that contradict each other or are incomplete. */}}
{{- define "allocator.checks" -}}
{{- with .Values.auth -}}
{{- if and (eq .mode "required") (not .tokens) (not .existingSecret) (not .jwt.jwks) -}}
{{- fail "auth.mode is required, but no credentials are set: set auth.existingSecret (a Secret with the key tokens), auth.tokens or auth.jwt.jwks; or auth.mode: off" -}}
{{- end -}}
{{- if and .tokens .existingSecret -}}
{{- fail "auth.tokens and auth.existingSecret are mutually exclusive: set only one of them" -}}
{{- end -}}
{{- if and .jwt.jwks (not (and .jwt.audience .jwt.issuer)) -}}
{{- fail "auth.jwt.jwks needs auth.jwt.audience and auth.jwt.issuer: otherwise tokens issued for other services would be accepted" -}}
{{- end -}}
{{- if and (hasPrefix "/" .jwt.jwks) (not .existingSecret) -}}
{{- fail "auth.jwt.jwks is a file of auth.existingSecret, which is not set" -}}
{{- end -}}
{{- end -}}
{{- with .Values.tls -}}
{{- if and .existingSecret (or .certificate .key) -}}
{{- fail "tls.existingSecret cannot be combined with tls.certificate and tls.key" -}}
{{- end -}}
{{- if ne (empty .certificate) (empty .key) -}}
{{- fail "tls.certificate and tls.key must be set together" -}}
{{- end -}}
{{- end -}}
{{- with .Values.autoscaling -}}
{{- if and .enabled (gt (int .minReplicas) (int .maxReplicas)) -}}
{{- fail (printf "autoscaling.minReplicas (%d) is above autoscaling.maxReplicas (%d)" (int .minReplicas) (int .maxReplicas)) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.networkPolicy.enabled (not .Values.networkPolicy.egress) -}}
{{- if hasPrefix "https://" .Values.auth.jwt.jwks -}}
{{- fail "auth.jwt.jwks is a URL, which the NetworkPolicy blocks: add a rule to networkPolicy.egress" -}}
{{- end -}}
{{- if .Values.tracing.endpoint -}}
{{- fail "tracing.endpoint is a URL, which the NetworkPolicy blocks: add a rule to networkPolicy.egress" -}}
{{- end -}}
{{- end -}}
{{- if and .Values.httpRoute.enabled (not .Values.httpRoute.parentRefs) -}}
{{- fail "httpRoute.enabled needs httpRoute.parentRefs: the Gateways to attach to" -}}
{{- end -}}
{{- with .Values.watch -}}
{{- if and .enabled (not .bootstrapServers) -}}
{{- fail "watch.enabled needs watch.bootstrapServers: the cluster to watch" -}}
{{- end -}}
{{- if and .enabled $.Values.networkPolicy.enabled (not .egress) -}}
{{- fail "watch.bootstrapServers are brokers, which the NetworkPolicy blocks: add rules for them and for DNS to watch.egress" -}}
{{- end -}}
{{- end -}}
{{- with .Values.pipeline -}}
{{- if and (or .cronJob.enabled .sparkApplication.enabled) (not .arguments) -}}
{{- fail "pipeline.arguments is empty: set the job for partition-allocator pipeline" -}}
{{- end -}}
{{- if and .sparkApplication.enabled (lt (int .executor.instances) 1) -}}
{{- fail "pipeline.sparkApplication needs at least one of pipeline.executor.instances" -}}
{{- end -}}
{{- end -}}
{{- end }}
