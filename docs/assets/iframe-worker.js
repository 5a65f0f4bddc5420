// A page that is read from the disk may not start a worker, so the search of this site runs in a hidden frame there.
// Served by a web server, the page keeps the browser's own workers.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      document.body.appendChild(this.frame)
      const inside = this.frame.contentWindow
      inside.answer = data => this.dispatchEvent(new MessageEvent("message", { data }))
      inside.document.open()
      inside.document.write(
        `<!doctype html><script>
          window.postMessage = data => window.answer(data)
          window.importScripts = (...urls) => urls.reduce((before, src) => before.then(() => new Promise((done, failed) => {
            const script = Object.assign(document.createElement("script"), { src, onload: done, onerror: failed })
            document.body.appendChild(script)
          })), Promise.resolve())
        </script><body><script src="${url}"></script></body>`
      )
      inside.document.close()
      this.ready = new Promise(done => inside.addEventListener("load", done))
    }
    postMessage(data) {
      const inside = this.frame.contentWindow
      this.ready.then(() => inside.dispatchEvent(new inside.MessageEvent("message", { data })))
    }
    set onmessage(listener) { this.addEventListener("message", listener) }
    terminate() { this.frame.remove() }
  }
}
