{{/* The names and labels that the templates share. */}}

{{- define "allocator.name" -}}
{{ .Chart.Name }}
{{- end }}

{{/* 43 characters and "-pipeline" are the 52 that the name of a CronJob may have. */}}
{{- define "allocator.fullname" -}}
{{- $name := include "allocator.name" . -}}
{{- $release := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{ default $release .Values.fullnameOverride | trunc 43 | trimSuffix "-" }}
{{- end }}

{{- define "allocator.selector" -}}
app.kubernetes.io/name: {{ include "allocator.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* Labels that pods are selected by; pipeline and service differ in the component. */}}
{{- define "allocator.serviceSelector" -}}
{{ include "allocator.selector" . }}
app.kubernetes.io/component: service
{{- end }}

{{- define "allocator.pipelineSelector" -}}
{{ include "allocator.selector" . }}
app.kubernetes.io/component: pipeline
{{- end }}

{{- define "allocator.watchSelector" -}}
{{ include "allocator.selector" . }}
app.kubernetes.io/component: watch
{{- end }}

{{- define "allocator.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "allocator.serviceLabels" -}}
{{ include "allocator.serviceSelector" . }}
{{ include "allocator.labels" . }}
{{- end }}

{{- define "allocator.pipelineLabels" -}}
{{ include "allocator.pipelineSelector" . }}
{{ include "allocator.labels" . }}
{{- end }}

{{- define "allocator.watchLabels" -}}
{{ include "allocator.watchSelector" . }}
{{ include "allocator.labels" . }}
{{- end }}

{{/* .repository; and .root, the template's scope, for the tag that both images have */}}
{{- define "allocator.image" -}}
{{ .repository }}:{{ default .root.Chart.AppVersion .root.Values.image.tag }}
{{- end }}

{{- define "allocator.serviceAccount" -}}
{{ default (include "allocator.fullname" .) .Values.serviceAccount.name }}
{{- end }}

{{/* The Secrets in use; empty: none. */}}
{{- define "allocator.authSecret" -}}
{{ .Values.auth.existingSecret }}
{{- end }}

{{- define "allocator.tlsSecret" -}}
{{ .Values.tls.existingSecret }}
{{- end }}

{{- define "allocator.scheme" -}}
{{ if include "allocator.tlsSecret" . }}https{{ else }}http{{ end }}
{{- end }}

{{/* Restricted Pod Security, for every pod and container of the chart. */}}
{{- define "allocator.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "allocator.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{/* Where an executor's pod differs from what Spark would make of it. */}}
{{- define "allocator.sparkPod" -}}
metadata:
  labels:
    {{- include "allocator.pipelineLabels" . | nindent 4 }}
spec:
  # The driver alone asks the API server.
  automountServiceAccountToken: false
  enableServiceLinks: false
  securityContext:
    {{- include "allocator.podSecurity" . | nindent 4 }}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: spark-kubernetes-executor
      securityContext:
        {{- include "allocator.containerSecurity" . | nindent 8 }}
      {{- with .Values.pipeline.envFrom }}
      envFrom:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      volumeMounts:
        - name: tmp
          mountPath: /tmp
  volumes:
    - name: tmp
      emptyDir: {}
{{- end }}

{{/* The file in the image that spark-submit is given: `partition-allocator pipeline`. */}}
{{- define "allocator.sparkFile" -}}
/opt/allocator/pipeline.py
{{- end }}

{{/* A JVM's memory and 40 percent, at least 384 MiB, for what is not its heap: Spark's own figures for Python on Kubernetes. */}}
{{- define "allocator.sparkPodMemory" -}}
{{- $heap := trimSuffix "g" (trimSuffix "m" .) | int -}}
{{- $heap = hasSuffix "g" . | ternary (mul $heap 1024) $heap -}}
{{ add $heap (max 384 (div (mul $heap 2) 5)) }}Mi
{{- end }}
