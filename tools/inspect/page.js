// Pointing at a line lights the lines that belong to it; a click also scrolls the other sides there.
document.querySelectorAll('.pair').forEach(pair=>{
  const lines=n=>pair.querySelectorAll(`[data-line="${n}"]`);
  const light=e=>{
    const at=e.target.closest('[data-line]');
    pair.querySelectorAll('.lit').forEach(l=>l.classList.remove('lit'));
    if(at)lines(at.dataset.line).forEach(l=>l.classList.add('lit'));
    return at;
  };
  pair.addEventListener('mouseover',light);
  pair.addEventListener('click',e=>{
    const at=light(e);
    if(!at)return;
    const pane=at.closest('.pane');
    pair.querySelectorAll('.pane').forEach(p=>{
      const to=p.querySelector(`[data-line="${at.dataset.line}"]`);
      if(p!==pane&&to)p.scrollTop=to.offsetTop-p.offsetTop-80;
    });
  });
});
