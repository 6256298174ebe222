# Columns in clusters, each with its spread. Needs $bars (x, height of the lower part, height, member, low, high), $ticks and $clusters (x, text),
# `clusters`, `members`, array `names`, `width`, `split` (1: the upper part has a colour of its own, and `names`
# are those of the two parts; a third is that of what a lower part has above the whole, which is hatched).
set xrange [0.4 : clusters + 0.6]
set grid noxtics ytics
unset xtics
if (split) { set bmargin at screen 0.17 }
if (!split) { set xlabel offset 0,-1 }
set key inside top left vertical reverse Left
set style fill solid 0.85 noborder
half = 0.46 * width
if (split) {
    set xlabel offset 0,-2.6
    above_whole = |names| > 2 ? names[3] : ""
    plot $bars using 1:(0):($1 - half):($1 + half):(0):($2 > $3 ? $3 : $2) with boxxyerror linecolor rgb colors[1] title names[1], \
         $bars using ($2 > $3 ? NaN : $1):2:($1 - half):($1 + half):2:3 with boxxyerror linecolor rgb colors[3] title names[2], \
         for [i = 3:|names|] $bars using ($2 > $3 ? $1 : NaN):3:($1 - half):($1 + half):3:2 \
             with boxxyerror linecolor rgb colors[2] fillstyle pattern 4 border title above_whole, \
         $bars using ($6 > $5 ? $1 : NaN):5:(0):($6 - $5) with vectors @whisker notitle, \
         $ticks using 1:(0):2 with labels offset 0,-0.9 font small notitle, \
         $clusters using 1:(0):2 with labels offset 0,-2.2 notitle
} else {
    # eight colours solid, then each again with a hatching of its round
    plot for [i = 1:(members < 8 ? members : 8)] $bars using (int($4) == i ? $1 : NaN):(0):($1 - half):($1 + half):(0):3 \
             with boxxyerror linecolor rgb colors[i] title names[i], \
         for [i = 9:members] $bars using (int($4) == i ? $1 : NaN):(0):($1 - half):($1 + half):(0):3 with boxxyerror \
             linecolor rgb colors[1 + (i - 1) % 8] fillstyle pattern 3 + (i - 1) / 8 border title (i > members ? "" : names[i]), \
         $bars using ($6 > $5 ? $1 : NaN):5:(0):($6 - $5) with vectors @whisker notitle, \
         $clusters using 1:(0):2 with labels offset 0,-0.9 notitle
}
