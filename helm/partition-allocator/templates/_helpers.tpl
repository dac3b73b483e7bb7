{{/* The names and labels that the templates share. */}}

{{- define "allocator.name" -}}
{{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
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
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
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

{{/* image : .image and .appVersion */}}
{{- define "allocator.image" -}}
{{- with .image -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ default $.appVersion .tag }}{{ end }}
{{- end }}
{{- end }}

{{- define "allocator.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{ default (include "allocator.fullname" .) .Values.serviceAccount.name }}
{{- else -}}
{{ default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{/* The Secrets in use: the caller's, or the chart's own; empty: none. */}}
{{- define "allocator.authSecret" -}}
{{- with .Values.auth -}}
{{- if .existingSecret }}{{ .existingSecret }}{{ else if .tokens }}{{ include "allocator.fullname" $ }}-auth{{ end }}
{{- end }}
{{- end }}

{{- define "allocator.tlsSecret" -}}
{{- with .Values.tls -}}
{{- if .existingSecret }}{{ .existingSecret }}{{ else if .certificate }}{{ include "allocator.fullname" $ }}-tls{{ end }}
{{- end }}
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

{{/* Where a pod of the pipeline differs from what Spark would make of it. .role : driver or executor; .root : the template's scope */}}
{{- define "allocator.sparkPod" -}}
{{- $driver := eq .role "driver" -}}
{{- with .root -}}
metadata:
  labels:
    {{- include "allocator.pipelineLabels" . | nindent 4 }}
spec:
  # The driver alone asks the API server.
  automountServiceAccountToken: {{ $driver }}
  enableServiceLinks: false
  securityContext:
    {{- include "allocator.podSecurity" . | nindent 4 }}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: spark-kubernetes-{{ ternary "driver" "executor" $driver }}
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
