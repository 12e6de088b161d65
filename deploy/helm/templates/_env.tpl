{{- define "agent-feedback.fromSecret" -}}
{{- /* A variable from a key of a secret. Takes (name, secret, what). */ -}}
- name: {{ .name }}
  valueFrom:
    secretKeyRef:
      name: {{ required (printf "%s: name the secret" .what) .secret.name }}
      key: {{ required (printf "%s: name the key" .what) .secret.key }}
{{- end -}}

{{- define "agent-feedback.settings" -}}
{{- /* Variables of a map of settings and a map of secrets. Takes (settings, secrets). */ -}}
{{- range $name, $value := .settings }}
- name: {{ $name }}
  value: {{ $value | toString | quote }}
{{- end }}
{{- range $name, $secret := .secrets }}
{{ include "agent-feedback.fromSecret" (dict "name" $name "secret" $secret "what" $name) }}
{{- end }}
{{- end -}}

{{- define "agent-feedback.access" -}}
{{- /* Addresses of Kafka and the databases for one service. Takes (root, service). */ -}}
{{- $values := .root.Values -}}
{{- $prefix := .service | upper -}}
- name: {{ $prefix }}_BROKER
  value: {{ required "kafka.brokers: HOST:PORT,... of your Kafka" $values.kafka.brokers | quote }}
{{ include "agent-feedback.fromSecret" (dict "name" (printf "%s_DATABASE_URL" $prefix) "secret" $values.database.secret "what" "database.secret") }}
{{- if eq .service "feedback" }}
{{- $store := ternary $values.store.secret $values.database.secret (ne $values.store.secret.name "") }}
{{ include "agent-feedback.fromSecret" (dict "name" "FEEDBACK_STORE_URL" "secret" $store "what" "store.secret") }}
{{- end }}
{{- end -}}

{{- define "agent-feedback.shared" -}}
{{- /* Variables of every service. Takes the root. */ -}}
{{- if .Values.token.secret.name }}
{{ include "agent-feedback.fromSecret" (dict "name" "AGENT_FEEDBACK_TOKEN" "secret" .Values.token.secret "what" "token.secret") }}
{{- else if not (or .Values.settings.AUTH_ISSUERS .Values.settings.AUTH_KEYS_URL) }}
{{- fail "token.secret.name or settings.AUTH_ISSUERS: name the secret of the access token, or the file with the issuers of your tokens" }}
{{- end }}
{{- if .Values.networkPolicy.enabled }}
- name: FORWARDED_ALLOW_IPS # the network policy lets only the gateway connect
  value: "*"
{{- end }}
{{- include "agent-feedback.settings" (dict "settings" .Values.settings "secrets" .Values.secrets) }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}
