package testdb

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/btcsuite/btcd/btcec/v2"
)

// A KeyPair is a secret key and its x-only public key (BIP-340). The secret is
// the one of the two whose point has an even y.
type KeyPair struct {
	secret btcec.ModNScalar
	x      [32]byte
}

// Key returns the key pair number i, the same in every run. Neighbouring
// secrets differ by one: these keys guard nothing.
func Key(i int) KeyPair { return newWalk(keySecret(i)).next() }

// Pubkey returns the public key as an event spells it: 64 lowercase hex digits.
func (k KeyPair) Pubkey() string { return hex.EncodeToString(k.x[:]) }

// Secret returns the secret key as 64 hex digits, for clients that want to
// sign for themselves.
func (k KeyPair) Secret() string {
	b := k.secret.Bytes()
	return hex.EncodeToString(b[:])
}

// sign returns the BIP-340 signature of msg by k. The nonce is a key pair too
// and must be used once, else two signatures would begin with the same bytes.
func (k KeyPair) sign(nonce KeyPair, msg [32]byte) [64]byte {
	var buf [64 + 96]byte
	copy(buf[:], challengeTag[:])
	copy(buf[64:], nonce.x[:])
	copy(buf[96:], k.x[:])
	copy(buf[128:], msg[:])
	s := scalarOf(sha256.Sum256(buf[:])) // the challenge e
	s.Mul(&k.secret).Add(&nonce.secret)  // s = nonce + e * secret

	var sig [64]byte
	copy(sig[:], nonce.x[:])
	s.PutBytesUnchecked(sig[32:])
	return sig
}

// challengeTag is what BIP-340 puts before the hashed message: the hash of the
// tag's name, twice.
var challengeTag = func() (tag [64]byte) {
	name := sha256.Sum256([]byte("BIP0340/challenge"))
	copy(tag[:], name[:])
	copy(tag[32:], name[:])
	return tag
}()

// keySecret returns the secret of [Key] number i, before its sign is chosen.
func keySecret(i int) btcec.ModNScalar {
	s := scalarOf(sha256.Sum256([]byte("keys of test events")))
	var n btcec.ModNScalar
	n.SetInt(uint32(i))
	s.Add(&n)
	return s
}

func scalarOf(b [32]byte) btcec.ModNScalar {
	var s btcec.ModNScalar
	s.SetBytes(&b)
	return s
}

// A walk yields the key pairs of consecutive secrets. A step is one addition
// of points where a key from nothing costs a multiplication, and a batch of
// points shares one inversion: 1.5 us a key against 25. Nonces are taken from
// a walk too, which is what makes signing fast, and deterministic. It would
// betray a secret key worth keeping.
type walk struct {
	secret btcec.ModNScalar    // of the next point
	point  btcec.JacobianPoint // secret * G
	g      btcec.JacobianPoint // the generator point
	batch  int                 // points in the next batch
	ready  []KeyPair
}

const maxBatch = 256

// newWalk returns a walk that begins at the given secret. Its batches grow,
// so that one key alone is cheap as well.
func newWalk(secret btcec.ModNScalar) *walk {
	w := &walk{secret: secret, batch: 1}
	btcec.GeneratorJacobian(&w.g)
	btcec.ScalarBaseMultNonConst(&w.secret, &w.point)
	return w
}

func (w *walk) next() KeyPair {
	if len(w.ready) == 0 {
		w.fill()
	}
	k := w.ready[0]
	w.ready = w.ready[1:]
	return k
}

// fill computes the next batch. Points are summed with a common denominator
// each (Z); the denominators of all are inverted at once by Montgomery's way:
// invert the product, then part it again from the end.
func (w *walk) fill() {
	points := make([]btcec.JacobianPoint, w.batch)
	products := make([]btcec.FieldVal, w.batch) // of Z 0..i
	var product btcec.FieldVal
	product.SetInt(1)
	for i := range points {
		points[i].Set(&w.point)
		products[i] = *product.Mul(&w.point.Z)
		w.step()
	}

	w.ready = make([]KeyPair, w.batch)
	secret := w.secret // of the point after i
	inverse := product.Inverse()
	for i := len(points) - 1; i >= 0; i-- {
		secret.Add(minusOne())
		zInverse := *inverse
		if i > 0 {
			zInverse.Mul(&products[i-1])
		}
		inverse.Mul(&points[i].Z)
		w.ready[i] = evenPair(secret, &points[i], &zInverse)
	}
	w.batch = min(w.batch*4, maxBatch)
}

// step moves the walk on by one generator point.
func (w *walk) step() {
	var sum btcec.JacobianPoint
	btcec.AddNonConst(&w.point, &w.g, &sum)
	w.point = sum
	var one btcec.ModNScalar
	one.SetInt(1)
	w.secret.Add(&one)
}

func minusOne() *btcec.ModNScalar {
	var one btcec.ModNScalar
	one.SetInt(1)
	return one.Negate()
}

// evenPair makes a key pair of a secret and its point, whose Z has the given
// inverse. x = X/Z^2, y = Y/Z^3; for an odd y the other secret is taken.
func evenPair(secret btcec.ModNScalar, p *btcec.JacobianPoint, zInverse *btcec.FieldVal) KeyPair {
	var square, y btcec.FieldVal
	square.SquareVal(zInverse)
	x := p.X
	x.Mul(&square).Normalize()
	y.Mul2(&p.Y, square.Mul(zInverse)).Normalize()
	if y.IsOdd() {
		secret.Negate()
	}
	return KeyPair{secret: secret, x: *x.Bytes()}
}
