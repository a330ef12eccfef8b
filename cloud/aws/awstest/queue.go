package awstest

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	"k8s.io/utils/clock"
)

const (
	// mostMessages and mostEntries limit the messages that one call receives and the entries of one batch.
	mostMessages, mostEntries = 10, 10
	// longestWait and longestHiding limit, in seconds, how long a call waits and how long a received message is hidden.
	longestWait, longestHiding = 20, 43200
	// hiddenByDefault is the visibility timeout of a queue, in seconds.
	hiddenByDefault = 30
)

// queue is a standard SQS queue: at-least-once delivery, in any order.
type queue struct {
	name     string
	messages []*message
}

type message struct {
	id string
	// body is nil for a message without one.
	body *string
	sent time.Time
	// hidden is the time until which a received message is invisible.
	hidden   time.Time
	received int
	// receipts are the receipt handles that were issued; the last one is valid.
	receipts []string
}

// AddQueue adds a queue. It receives all later events of EC2.
func (a *Account) AddQueue(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.queue(name) == nil {
		a.queues = append(a.queues, &queue{name: name})
	}
}

// RemoveQueue removes a queue with its messages.
func (a *Account) RemoveQueue(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.queues = slices.DeleteFunc(a.queues, func(q *queue) bool { return q.name == name })
}

// Send sends a message with any text to a queue; nil for one without text.
func (a *Account) Send(name string, body *string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if q := a.queue(name); q != nil {
		a.put(q, body)
	}
}

// Messages are the texts in a queue, including messages that were received and not deleted; empty for messages without text.
func (a *Account) Messages(name string) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []string
	if q := a.queue(name); q != nil {
		for _, m := range q.messages {
			text := ""
			if m.body != nil {
				text = *m.body
			}
			out = append(out, text)
		}
	}
	return out
}

// Redeliver makes received messages that were not deleted visible again, as if their visibility timeout had passed.
func (a *Account) Redeliver(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if q := a.queue(name); q != nil {
		for _, m := range q.messages {
			m.hidden = time.Time{}
		}
		a.wake()
	}
}

// Repeat duplicates all messages of a queue, as standard queues may do.
func (a *Account) Repeat(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if q := a.queue(name); q != nil {
		for _, m := range slices.Clone(q.messages) {
			a.put(q, m.body)
		}
	}
}

// queue is a queue by its name; nil if there is none. The account is locked.
func (a *Account) queue(name string) *queue {
	at := slices.IndexFunc(a.queues, func(q *queue) bool { return q.name == name })
	if at < 0 {
		return nil
	}
	return a.queues[at]
}

// put adds a message. The account is locked.
func (a *Account) put(q *queue, body *string) {
	q.messages = append(q.messages, &message{id: fmt.Sprintf("message-%d", a.next()), body: body, sent: a.clock.Now()})
	a.wake()
}

// wake wakes the calls that wait for messages. The account is locked.
func (a *Account) wake() {
	if a.arrived != nil {
		close(a.arrived)
	}
	a.arrived = make(chan struct{})
}

func (a *Account) queueURL(q *queue) string {
	return fmt.Sprintf("https://sqs.%s.amazonaws.com/%s/%s", a.region, AccountID, q.name)
}

// queueAt is a queue by its URL. The account is locked.
func (a *Account) queueAt(url string) (*queue, error) {
	at := slices.IndexFunc(a.queues, func(q *queue) bool { return a.queueURL(q) == url })
	if at < 0 {
		return nil, noQueue()
	}
	return a.queues[at], nil
}

// noQueue is the error of SQS for missing queues: one code for JSON, another for clients of the query protocol.
func noQueue() error {
	return &apiError{
		status: 400, code: "QueueDoesNotExist", former: "AWS.SimpleQueueService.NonExistentQueue",
		message: "The specified queue does not exist.",
	}
}

// read reads the body of a JSON protocol. Unknown fields are an error.
func read(f *form, into any) error {
	d := json.NewDecoder(bytes.NewReader([]byte(f.body)))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return refuse("SerializationException", "%v", err)
	}
	return nil
}

func getQueueURL(a *Account, f *form) (any, error) {
	var in struct{ QueueName, QueueOwnerAWSAccountID string }
	if err := read(f, &in); err != nil {
		return nil, err
	}
	q := a.queue(in.QueueName)
	if q == nil {
		return nil, noQueue()
	}
	return map[string]string{"QueueUrl": a.queueURL(q)}, nil
}

// receipt is a ReceiveMessage request.
type receipt struct {
	QueueURL                    string `json:"QueueUrl"`
	MaxNumberOfMessages         *int
	VisibilityTimeout           *int
	WaitTimeSeconds             *int
	AttributeNames              []string
	MessageSystemAttributeNames []string
	MessageAttributeNames       []string
	ReceiveRequestAttemptID     string `json:"ReceiveRequestAttemptId"`
}

// check rejects what SQS rejects.
func (r *receipt) check() error {
	for name, bound := range map[string]struct {
		value       *int
		least, most int
	}{
		"MaxNumberOfMessages": {r.MaxNumberOfMessages, 1, mostMessages}, "VisibilityTimeout": {r.VisibilityTimeout, 0, longestHiding},
		"WaitTimeSeconds": {r.WaitTimeSeconds, 0, longestWait},
	} {
		if bound.value != nil && (*bound.value < bound.least || *bound.value > bound.most) {
			return refuse("InvalidParameterValue", "Value %d for parameter %s is invalid. Reason: Must be between %d and %d, if provided.", *bound.value, name, bound.least, bound.most)
		}
	}
	for _, name := range slices.Concat(r.AttributeNames, r.MessageSystemAttributeNames) {
		if !slices.Contains([]string{"All", "SentTimestamp", "ApproximateReceiveCount", "SenderId"}, name) {
			return refuse("InvalidAttributeName", "Unknown Attribute %s.", name)
		}
	}
	return nil
}

func receiveMessage(a *Account, f *form) (any, error) {
	var in receipt
	if err := read(f, &in); err != nil {
		return nil, err
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	q, err := a.queueAt(in.QueueURL)
	if err != nil {
		return nil, err
	}
	most, hiding, now := 1, hiddenByDefault, a.clock.Now()
	if in.MaxNumberOfMessages != nil {
		most = *in.MaxNumberOfMessages
	}
	if in.VisibilityTimeout != nil {
		hiding = *in.VisibilityTimeout
	}
	var out []map[string]any
	for _, m := range q.messages {
		if len(out) == most || now.Before(m.hidden) {
			continue
		}
		m.hidden = now.Add(time.Duration(hiding) * time.Second)
		m.received++
		m.receipts = append(m.receipts, fmt.Sprintf("%s-%d", m.id, m.received))
		w := map[string]any{"MessageId": m.id, "ReceiptHandle": m.receipts[len(m.receipts)-1]}
		if m.body != nil {
			sum := md5.Sum([]byte(*m.body))
			w["Body"], w["MD5OfBody"] = *m.body, hex.EncodeToString(sum[:])
		}
		attributes := map[string]string{}
		for _, name := range slices.Concat(in.AttributeNames, in.MessageSystemAttributeNames) {
			if name == "All" || name == "SentTimestamp" {
				attributes["SentTimestamp"] = strconv.FormatInt(m.sent.UnixMilli(), 10)
			}
		}
		w["Attributes"] = attributes
		out = append(out, w)
	}
	return map[string]any{"Messages": out}, nil
}

// awaitMessage waits for a message, for as long as the call asks. With a fake clock, that time may never pass, so it does not
// wait.
func (a *Account) awaitMessage(ctx context.Context, f *form) {
	var in receipt
	if _, ok := a.clock.(clock.RealClock); !ok || read(f, &in) != nil || in.WaitTimeSeconds == nil || in.check() != nil {
		return
	}
	over := time.NewTimer(time.Duration(*in.WaitTimeSeconds) * time.Second)
	defer over.Stop()
	for {
		arrived, soonest, there := a.waiting(in.QueueURL)
		if there {
			return
		}
		shown := time.NewTimer(soonest)
		select {
		case <-arrived:
			shown.Stop()
		case <-shown.C:
		case <-over.C:
			shown.Stop()
			return
		case <-ctx.Done():
			shown.Stop()
			return
		}
	}
}

// waiting reports whether there is a visible message, or no queue; otherwise it returns the channel that signals the next message, and
// the time when a hidden message becomes visible again.
func (a *Account) waiting(url string) (<-chan struct{}, time.Duration, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.advance()
	q, err := a.queueAt(url)
	if err != nil {
		return nil, 0, true
	}
	now, soonest := a.clock.Now(), time.Second // instances go on as well
	for _, m := range q.messages {
		if !now.Before(m.hidden) {
			return nil, 0, true
		}
		soonest = min(soonest, m.hidden.Sub(now))
	}
	if a.arrived == nil {
		a.arrived = make(chan struct{})
	}
	return a.arrived, soonest, false
}

// entryID matches the ids of the entries of a batch.
var entryID = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,80}$`)

func deleteMessageBatch(a *Account, f *form) (any, error) {
	var in struct {
		QueueURL string `json:"QueueUrl"`
		Entries  []struct {
			ID            string `json:"Id"`
			ReceiptHandle string
		}
	}
	if err := read(f, &in); err != nil {
		return nil, err
	}
	q, err := a.queueAt(in.QueueURL)
	if err != nil {
		return nil, err
	}
	switch {
	case len(in.Entries) == 0:
		return nil, refuse("EmptyBatchRequest", "There should be at least one DeleteMessageBatchRequestEntry in the request.")
	case len(in.Entries) > mostEntries:
		return nil, refuse("TooManyEntriesInBatchRequest", "Maximum number of entries per request are %d. You have sent %d.", mostEntries, len(in.Entries))
	}
	seen := map[string]bool{}
	var done []map[string]string
	failed := []map[string]any{}
	for _, e := range in.Entries {
		switch {
		case !entryID.MatchString(e.ID):
			return nil, refuse("InvalidBatchEntryId", "A batch entry id can only contain alphanumeric characters, hyphens and underscores.")
		case seen[e.ID]:
			return nil, refuse("BatchEntryIdsNotDistinct", "Id %s repeated.", e.ID)
		}
		seen[e.ID] = true
		if q.drop(e.ReceiptHandle) {
			done = append(done, map[string]string{"Id": e.ID})
		} else {
			failed = append(failed, map[string]any{"Id": e.ID, "Code": "ReceiptHandleIsInvalid", "SenderFault": true, "Message": "The input receipt handle is invalid."})
		}
	}
	return map[string]any{"Successful": done, "Failed": failed}, nil
}

// drop deletes a message. An outdated receipt handle is valid, and deletes nothing.
func (q *queue) drop(handle string) bool {
	valid := regexp.MustCompile(`^message-\d+-\d+$`).MatchString(handle)
	q.messages = slices.DeleteFunc(q.messages, func(m *message) bool {
		return len(m.receipts) > 0 && m.receipts[len(m.receipts)-1] == handle
	})
	return valid
}
