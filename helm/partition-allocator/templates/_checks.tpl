{{/* What a schema cannot express: values that contradict each other or are incomplete. */}}
{{- define "allocator.checks" -}}
{{- with .Values.auth -}}
{{- if and (eq .mode "required") (not .existingSecret) (not .jwt.jwks) -}}
{{- fail "auth.mode is required, but no credentials are set: set auth.existingSecret (a Secret with the key tokens) or auth.jwt.jwks; or auth.mode: off" -}}
{{- end -}}
{{- if and .jwt.jwks (not (and .jwt.audience .jwt.issuer)) -}}
{{- fail "auth.jwt.jwks needs auth.jwt.audience and auth.jwt.issuer: otherwise tokens issued for other services would be accepted" -}}
{{- end -}}
{{- if and (hasPrefix "/" .jwt.jwks) (not .existingSecret) -}}
{{- fail "auth.jwt.jwks is a file of auth.existingSecret, which is not set" -}}
{{- end -}}
{{- end -}}
{{- with .Values.autoscaling -}}
{{- if and .enabled (gt (int $.Values.replicas) (int .maxReplicas)) -}}
{{- fail (printf "replicas (%d) is above autoscaling.maxReplicas (%d)" (int $.Values.replicas) (int .maxReplicas)) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.networkPolicy.enabled (not .Values.networkPolicy.egress) -}}
{{- if hasPrefix "https://" .Values.auth.jwt.jwks -}}
{{- fail "auth.jwt.jwks is a URL, which the NetworkPolicy blocks: add a rule to networkPolicy.egress" -}}
{{- end -}}
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
{{- if and .cronJob.enabled (not .arguments) -}}
{{- fail "pipeline.arguments is empty: set the job for partition-allocator pipeline" -}}
{{- end -}}
{{- end -}}
{{- end }}
