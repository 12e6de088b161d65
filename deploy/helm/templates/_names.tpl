{{- define "agent-feedback.name" -}}
{{- /* Name of a part: the release's and the part's, with dashes. Takes (root, part). */ -}}
{{- printf "%s-%s" (.root.Release.Name | trunc 40 | trimSuffix "-") (.part | replace "_" "-") -}}
{{- end -}}

{{- define "agent-feedback.selector" -}}
app.kubernetes.io/name: agent-feedback
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part | replace "_" "-" }}
{{- end -}}

{{- define "agent-feedback.labels" -}}
{{ include "agent-feedback.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end -}}

{{- define "agent-feedback.image" -}}
{{- $image := .Values.image -}}
{{- $repository := required "image.repository: the image that you built from deploy/Dockerfile" $image.repository -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $repository $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $repository ($image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}
