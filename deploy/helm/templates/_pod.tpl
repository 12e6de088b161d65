{{- define "agent-feedback.podSecurity" -}}
runAsNonRoot: true
runAsUser: {{ .user }}
runAsGroup: {{ .user }}
fsGroup: {{ .user }}
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "agent-feedback.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- define "agent-feedback.scheduling" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}

{{- define "agent-feedback.spread" -}}
{{- /* Replicas of a part on different nodes. Takes (root, part). */ -}}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "agent-feedback.selector" . | nindent 8 }}
{{- end -}}

{{- define "agent-feedback.hook" -}}
{{- /* Job that runs a command before an installation or upgrade. Takes (root, part, weight, command). */ -}}
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ include "agent-feedback.name" . }}
  labels:
    {{- include "agent-feedback.labels" . | nindent 4 }}
  annotations:
    helm.sh/hook: pre-install,pre-upgrade
    helm.sh/hook-weight: {{ .weight | quote }}
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
spec:
  backoffLimit: 6
  template:
    metadata:
      labels:
        {{- include "agent-feedback.selector" . | nindent 8 }}
    spec:
      restartPolicy: Never
      automountServiceAccountToken: false
      securityContext:
        {{- include "agent-feedback.podSecurity" (dict "user" 10001) | nindent 8 }}
      {{- include "agent-feedback.scheduling" .root | nindent 6 }}
      containers:
        - name: {{ .part }}
          image: {{ include "agent-feedback.image" .root }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          args: {{ toJson .command }}
          securityContext:
            {{- include "agent-feedback.containerSecurity" . | nindent 12 }}
          env:
            {{- range $service, $_ := .root.Values.services }}
            {{- include "agent-feedback.access" (dict "root" $.root "service" $service) | nindent 12 }}
            {{- end }}
            {{- include "agent-feedback.shared" .root | indent 12 }}
          resources:
            requests: {cpu: 100m, memory: 128Mi}
            limits: {memory: 512Mi}
          volumeMounts:
            - name: tmp
              mountPath: /tmp
            {{- with .root.Values.extraVolumeMounts }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
      volumes:
        - name: tmp
          emptyDir: {}
        {{- with .root.Values.extraVolumes }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
{{- end -}}
