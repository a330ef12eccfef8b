package observe

import "github.com/prometheus/client_golang/prometheus"

// NotificationMetrics describes notifications to a webhook.
type NotificationMetrics struct {
	// Sent has label event.
	Sent *prometheus.CounterVec
	// Dropped has label reason (queue_full, too_large, refused, attempts_exhausted, stopped).
	Dropped *prometheus.CounterVec
	// FailedAttempts has label reason (timeout, connection, status, configuration).
	FailedAttempts *prometheus.CounterVec
	// Queued is how many wait, without the one that is being sent.
	Queued prometheus.Gauge
}

func newNotificationMetrics(b *MetricBuilder) NotificationMetrics {
	return NotificationMetrics{
		Sent:    b.Counters("karpenter_notifications_sent_total", "Notifications that the webhook accepted.", "event"),
		Dropped: b.Counters("karpenter_notifications_dropped_total", "Notifications that were not delivered.", "reason"),
		FailedAttempts: b.Counters("karpenter_notifications_failed_attempts_total",
			"Attempts to deliver a notification that failed, whether or not they are repeated.", "reason"),
		Queued: b.Gauge("karpenter_notifications_queued", "Notifications that wait to be sent."),
	}
}
